// Points drawn by the graphics processor.

import { VERTEX, FRAGMENT } from "./shaders.js";
import { paletteRgb, css } from "../core/colors.js";

const TEXTURE_WIDTH = 256;
const MANY = 254;
const NONE = 255;

function shader(gl, kind, source) {
  const made = gl.createShader(kind);
  gl.shaderSource(made, source);
  gl.compileShader(made);
  if (!gl.getShaderParameter(made, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(made));
  return made;
}

function rgb(name) {
  const text = css(name);
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16) / 255);
}

export class WebglPoints {
  static make(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, alpha: true });
    return gl ? new WebglPoints(gl, canvas) : null;
  }

  constructor(gl, canvas) {
    this.gl = gl;
    this.canvas = canvas;
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { this.prepare(); this.restore(); });
    this.prepare();
  }

  prepare() {
    const gl = this.gl;
    this.program = gl.createProgram();
    gl.attachShader(this.program, shader(gl, gl.VERTEX_SHADER, VERTEX));
    gl.attachShader(this.program, shader(gl, gl.FRAGMENT_SHADER, FRAGMENT));
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.program));
    this.at = (name) => gl.getUniformLocation(this.program, name);
    this.vertices = gl.createVertexArray();
    this.buffers = { place: gl.createBuffer(), code: gl.createBuffer(), chosen: gl.createBuffer() };
    this.texture = gl.createTexture();
    this.n = 0;
  }

  restore() {
    if (this.given) {
      this.setPoints(this.given.points, this.given.n);
      this.setCodes(this.given.codes);
      this.setSelection(this.given.mask);
      this.setSets(this.given.sets);
      if (this.again) this.again();
    }
  }

  fill(name, data, components, whole) {
    const gl = this.gl;
    gl.bindVertexArray(this.vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    const where = gl.getAttribLocation(this.program, name);
    gl.enableVertexAttribArray(where);
    if (whole) gl.vertexAttribIPointer(where, components, whole, 0, 0);
    else gl.vertexAttribPointer(where, components, gl.FLOAT, false, 0, 0);
  }

  // places in the unit square; only the first n are drawn
  setPoints(points, n) {
    this.n = n;
    this.given = { ...(this.given || {}), points, n };
    this.fill("place", points, 2, 0);
  }

  setCodes(codes) {
    this.given = { ...(this.given || {}), codes };
    this.fill("code", codes, 1, this.gl.INT);
  }

  setSelection(mask) {
    this.given = { ...(this.given || {}), mask };
    this.selecting = mask !== null;
    this.fill("chosen", mask || new Uint8Array(this.n), 1, this.gl.UNSIGNED_BYTE);
  }

  // sets: for each code the clusters that it holds
  setSets(sets) {
    const gl = this.gl;
    this.given = { ...(this.given || {}), sets };
    const height = Math.max(1, Math.ceil(sets.length / TEXTURE_WIDTH));
    const texels = new Uint8Array(4 * TEXTURE_WIDTH * height).fill(NONE);
    sets.forEach((set, code) => {
      if (set.length > 4) texels[4 * code] = MANY;
      else set.forEach((cluster, k) => { texels[4 * code + k] = cluster % 20; });
    });
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8UI, TEXTURE_WIDTH, height, 0, gl.RGBA_INTEGER, gl.UNSIGNED_BYTE, texels);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
  }

  // Wait until everything is drawn.
  finish() {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  // view: {x, y, width, height}, the part of the unit square that is seen
  draw(view, size, alpha) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.n || gl.isContextLost()) return;
    gl.useProgram(this.program);
    gl.bindVertexArray(this.vertices);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.uniform2f(this.at("scale"), 2 / view.width, 2 / view.height);
    gl.uniform2f(this.at("offset"), -1 - (2 * view.x) / view.width, -1 - (2 * view.y) / view.height);
    gl.uniform1f(this.at("size"), size);
    gl.uniform1f(this.at("alpha"), alpha);
    gl.uniform1i(this.at("selecting"), this.selecting ? 1 : 0);
    gl.uniform1i(this.at("sets"), 0);
    gl.uniform3fv(this.at("palette"), paletteRgb().flat());
    gl.uniform3fv(this.at("ink"), rgb("--ink"));
    gl.uniform3fv(this.at("paper"), rgb("--paper"));
    for (const pass of this.selecting ? [0, 1] : [1]) {
      gl.uniform1i(this.at("pass"), pass);
      gl.drawArrays(gl.POINTS, 0, this.n);
    }
  }
}
