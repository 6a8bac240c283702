// Colors of clusters that color-blind people can tell apart, and of everything else on a canvas.

import { get } from "./store.js";

// Those of dempster.plot (a test keeps them equal).
export const PALETTE = [
  "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#692D2D", "#3C2D96", "#87E1A5", "#A52D69",
  "#964B00", "#5A87F0", "#2DE1FF", "#A5B487", "#D2D24B", "#780F69", "#B44B4B", "#00D2C3", "#4B4BB4", "#A55A87",
];

const LEAST_LIGHT = 0.16; // of a color on a dark page

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
}

function light([r, g, b]) {
  const linear = (u) => (u <= 0.04045 ? u / 12.92 : ((u + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

// Dark colors are lifted on a dark page so far that they are seen.
function shown(hex) {
  let rgb = channels(hex);
  if (get("theme") === "dark") {
    for (let step = 0; step < 10 && light(rgb) < LEAST_LIGHT; step++) rgb = rgb.map((u) => u + 0.12 * (1 - u));
  }
  return rgb;
}

// The palette as numbers from 0 to 1, one color after the other.
export function paletteRgb() {
  return PALETTE.map(shown);
}

export function clusterColor(cluster, alpha = 1) {
  const [r, g, b] = shown(PALETTE[cluster % PALETTE.length]).map((u) => Math.round(255 * u));
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

export function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// What a set of clusters looks like on paper: one color, or slices of several.
export function setBackground(clusters) {
  if (clusters.length === 0) return "none";
  if (clusters.length === 1) return clusterColor(clusters[0]);
  const shownOnes = clusters.slice(0, 4);
  const step = 100 / shownOnes.length;
  const slices = shownOnes.map((k, i) => `${clusterColor(k)} ${i * step}% ${(i + 1) * step}%`);
  return shownOnes.length === 2
    ? `linear-gradient(90deg, ${slices.join(", ")})`
    : `conic-gradient(${slices.join(", ")})`;
}
