// Run and change the Python examples of a page in place. Nothing is loaded before the first button is pressed.

import { Engine } from "./engine.js";

const home = new URL(".", import.meta.url);
const status = { words: "", share: null };
let shown = null; // the cell that shows the status

const engine = new Engine(home, {
  words: (words, share) => { Object.assign(status, { words, share }); shown?.showStatus(); },
});

function element(tag, attributes = {}, ...children) {
  const node = Object.assign(document.createElement(tag), attributes);
  node.append(...children);
  return node;
}

function button(words, onclick) {
  return element("button", { type: "button", className: "cell-button", onclick }, words);
}

class Cell {
  constructor(block, before) {
    this.block = block;
    this.before = before; // the cells above, whose variables this cell may use
    this.code = block.querySelector("pre").textContent.replace(/\n$/, "");
    this.hasRun = false;
    this.editor = null;
    this.bar = element("div", { className: "cell-bar" }, button("Run and change", () => this.open()));
    block.after(this.bar);
  }

  // Replace the block by an editor, and run it.
  async open() {
    this.editor = element("textarea", { className: "cell-editor", spellcheck: false, value: this.code, oninput: () => this.fit() });
    this.editor.setAttribute("aria-label", "Python code");
    this.editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.shiftKey)) { event.preventDefault(); this.runAll(); }
    });
    this.output = element("div", { className: "cell-output" });
    this.output.setAttribute("aria-live", "polite");
    this.runButton = button("Run", () => this.runAll());
    this.stopButton = element("button", { type: "button", className: "cell-button", hidden: true, onclick: () => this.stop() }, "Stop");
    this.words = element("span", { className: "cell-words" });
    this.meter = element("progress", { hidden: true, max: 1 });
    const reset = button("Reset", () => { this.editor.value = this.code; this.fit(); });
    this.bar.replaceChildren(this.runButton, this.stopButton, reset, this.meter, this.words);
    this.block.replaceWith(this.editor);
    this.bar.after(this.output);
    this.hideOldResults();
    this.fit();
    await this.runAll();
  }

  // Hide the results that the page shows, which follow the block.
  hideOldResults() {
    for (let next = this.output.nextElementSibling; next?.matches(".printed, figure, p:has(> img:only-child), a.reference.image-reference, img"); next = next.nextElementSibling) next.hidden = true;
  }

  fit() {
    this.editor.style.height = "auto";
    this.editor.style.height = `${this.editor.scrollHeight + 2}px`;
  }

  text() {
    return this.editor ? this.editor.value : this.code;
  }

  showStatus() {
    this.words.textContent = status.words;
    this.meter.hidden = !status.words;
    if (status.share === null) this.meter.removeAttribute("value");
    else this.meter.value = status.share;
  }

  // Run the cells above that have not run yet, and then this cell.
  async runAll() {
    shown = this;
    this.runButton.disabled = true;
    this.stopButton.hidden = false;
    try {
      await engine.start(["plots"]);
      for (const cell of this.before.filter((one) => !one.hasRun)) {
        Object.assign(status, { words: "running the examples above", share: null });
        this.showStatus();
        const { failed, printed } = await cell.run();
        if (failed) throw new Error(`An example above failed:\n${printed}`);
      }
      Object.assign(status, { words: "running", share: null });
      this.showStatus();
      this.showResult(await this.run());
    } catch (error) {
      this.showResult({ printed: error.message, pictures: [], failed: true });
    } finally {
      Object.assign(status, { words: "", share: null });
      this.showStatus();
      this.runButton.disabled = false;
      this.stopButton.hidden = true;
    }
  }

  async run() {
    const result = await engine.send({ task: "cell", code: this.text() });
    this.hasRun = !result.failed;
    return result;
  }

  stop() {
    engine.end();
    for (const cell of cells) cell.hasRun = false;
  }

  showResult({ printed, pictures, failed }) {
    const images = pictures.map((content) => element("img", { alt: "Figure that the code draws", src: URL.createObjectURL(new Blob([content], { type: "image/png" })) }));
    const text = printed ? [element("pre", { textContent: printed, className: failed ? "cell-error" : "" })] : [];
    this.output.replaceChildren(...text, ...images);
  }
}

const cells = [];
for (const block of document.querySelectorAll("div.highlight-python")) cells.push(new Cell(block, [...cells]));
