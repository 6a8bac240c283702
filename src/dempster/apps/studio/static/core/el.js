// Create elements of the page. Text is always set as text, so that data are never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("aria-")) node.setAttribute(name, String(value));
    else if (value === false) continue;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = String(value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) setStyle(node, key, one);
    else if (["value", "checked", "disabled", "selected", "open", "indeterminate"].includes(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
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
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
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
  box.textContent = words;
  box.dataset.kind = kind;
  box.hidden = false;
  announce(words);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { box.hidden = true; }, kind === "error" ? 9000 : 4000);
}
