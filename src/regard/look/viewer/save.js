// What is shown as a file: the present drawing as SVG or PNG, or all of it as a page of its own.

const SHARPNESS = 2; // pixels of a PNG for each of the drawing's

function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// A drawing with what the page's style gives it, so that it looks the same alone.
const STYLED = [
  "color",
  "fill",
  "stroke",
  "stroke-width",
  "fill-opacity",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
];

function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((original, number) => {
    const [style, above] = [getComputedStyle(original), number ? getComputedStyle(original.parentElement) : null];
    for (const name of STYLED) {
      const value = style.getPropertyValue(name);
      const inherited = above && !name.endsWith("opacity") && above.getPropertyValue(name) === value;
      if (!inherited && !(name.endsWith("opacity") && value === "1")) copies[number].setAttribute(name, value);
    }
    for (const name of ["class", "tabindex", "role"]) copies[number].removeAttribute(name);
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(drawing) {
  download("regard.svg", new Blob([standalone(drawing)], { type: "image/svg+xml" }));
}

export async function savePng(drawing) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(drawing))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SHARPNESS * drawing.viewBox.baseVal.width;
  canvas.height = SHARPNESS * drawing.viewBox.baseVal.height;
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(drawing.closest(".regard-look")).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => download("regard.png", blob), "image/png");
}

// `template` is the address of the page that look/page.py makes; without it, this page is one already.
export async function savePage(look, template) {
  const page = template ? await (await fetch(template)).text() : `<!doctype html>\n${bare()}\n`;
  const data = JSON.stringify(look).replaceAll("<", "\\u003c");
  const filled = page.replace(/(id="regard-look-data">)[^<]*/, (_, start) => start + data);
  download("regard.html", new Blob([filled], { type: "text/html" }));
}

function bare() {
  const page = document.documentElement.cloneNode(true);
  page.querySelector("#regard-look").replaceChildren();
  return page.outerHTML;
}
