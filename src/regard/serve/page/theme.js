// Light or dark, before anything is painted: as was chosen here, or as the system has it.

const theme = window.localStorage?.getItem("regard-theme");
if (theme) document.documentElement.dataset.theme = theme;
