// Light or dark, before anything is painted: as was chosen here, or as the system has it.

try {
  const theme = localStorage.getItem("regard-theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch {
  // some browsers remember nothing, and say so
}
