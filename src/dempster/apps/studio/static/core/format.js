// Format numbers and names.

import { number } from "../map/scatter.js";

export { number };

export function formatCount(n, thing) {
  return `${n.toLocaleString("en")} ${thing}${n === 1 ? "" : "s"}`;
}

// Format a time in seconds since 1970.
export function formatTime(seconds) {
  return new Date(1000 * seconds).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}

export function share(value) {
  if (!Number.isFinite(value)) return "–";
  const percent = 100 * value;
  return percent > 0 && percent < 1 ? "<1 %" : `${Math.round(percent)} %`;
}

export function cell(value) {
  return typeof value === "number" ? number(value, 6) : value === null || value === undefined ? "" : String(value);
}

export function seconds(value) {
  return value < 10 ? `${value.toFixed(1)} s` : value < 120 ? `${Math.round(value)} s` : `${Math.round(value / 60)} min`;
}

export function short(text, most = 28) {
  const points = [...String(text)];
  return points.length > most ? points.slice(0, most - 1).join("") + "…" : String(text);
}
