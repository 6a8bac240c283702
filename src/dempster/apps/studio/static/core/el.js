// Create elements of the page. Text is always set as text, so that data are never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("aria-") || name === "title") node.setAttribute(name, showDirections(value));
    else if (value === false) continue;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = showDirections(value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) setStyle(node, key, one);
    else if (["value", "checked", "disabled", "selected", "open", "indeterminate"].includes(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...shownChildren(children));
  return node;
}

function shownChildren(children) {
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  return shown.map((child) => (child instanceof Node ? child : showDirections(child)));
}

// Return a text whose characters that change the direction of writing are replaced by their codes, because they could
// make a name look like another name.
function showDirections(text) {
  return String(text).replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function setStyle(node, key, value) {
  if (key.startsWith("--")) node.style.setProperty(key, value);
  else node.style[key] = value;
}

// el("button", {class: "quiet", onclick: f}, "Undo")
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(node, ...children) {
  node.replaceChildren(...shownChildren(children));
}

// Set the text of the live region, which screen readers announce.
export function announce(words) {
  const line = document.getElementById("spoken");
  if (line) line.textContent = words;
}

let toastTimer = 0;

// Show a short message at the edge of the page.
export function toast(words, kind = "note") {
  const box = document.getElementById("toast");
  box.textContent = showDirections(words);
  box.dataset.kind = kind;
  box.hidden = false;
  announce(words);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { box.hidden = true; }, kind === "error" ? 9000 : 4000);
}
