// Numbers between -1 and 1 as a small picture, a pixel each: blue above zero, orange below, fainter the nearer to it.

import { html } from "./dom.js";

const ABOVE = 0xdc7834; // blue, green, red: as a canvas has them in memory
const BELOW = 0x2e6ad6;

export function pixels(values, columns, rows, strength = (size) => size) {
  const canvas = html("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const whole = new Uint32Array(image.data.buffer);
  for (let n = 0; n < whole.length; n++) {
    const opacity = Math.round(255 * strength(Math.abs(values[n])));
    whole[n] = (opacity << 24) | (values[n] < 0 ? BELOW : ABOVE);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
