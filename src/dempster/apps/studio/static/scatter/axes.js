// Axes with round numbers.

import { css } from "../core/colors.js";
import { number, short } from "../core/format.js";

export function ticks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * span; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// box: {left, top, width, height} in pixels; range: {x0, x1, y0, y1} in the units of the data
export function drawAxes(pen, box, range, names) {
  const [line, faint] = [css("--line"), css("--muted")];
  pen.font = "11px system-ui, sans-serif";
  pen.lineWidth = 1;
  pen.fillStyle = faint;
  pen.strokeStyle = line;
  pen.textAlign = "center";
  pen.textBaseline = "top";
  for (const tick of ticks(range.x0, range.x1, box.width / 90)) {
    const x = Math.round(box.left + ((tick - range.x0) / (range.x1 - range.x0)) * box.width) + 0.5;
    pen.beginPath(); pen.moveTo(x, box.top); pen.lineTo(x, box.top + box.height); pen.globalAlpha = 0.5; pen.stroke();
    pen.globalAlpha = 1;
    pen.fillText(number(tick), x, box.top + box.height + 5);
  }
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  if (names[1]) {
    for (const tick of ticks(range.y0, range.y1, box.height / 60)) {
      const y = Math.round(box.top + (1 - (tick - range.y0) / (range.y1 - range.y0)) * box.height) + 0.5;
      pen.beginPath(); pen.moveTo(box.left, y); pen.lineTo(box.left + box.width, y); pen.globalAlpha = 0.5; pen.stroke();
      pen.globalAlpha = 1;
      pen.fillText(number(tick), box.left - 6, y);
    }
  }
  pen.textAlign = "center";
  pen.fillStyle = css("--soft");
  pen.font = "12px system-ui, sans-serif";
  pen.fillText(short(names[0], Math.floor(box.width / 7)), box.left + box.width / 2, box.top + box.height + 29);
  pen.save();
  pen.translate(box.left - 42, box.top + box.height / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(short(names[1], Math.floor(box.height / 7)), 0, 0);
  pen.restore();
}
