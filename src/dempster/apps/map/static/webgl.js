// Scatter plot that draws its points by WebGL. Without WebGL it uses a 2D canvas.

import { css, paletteRgb, Scatter, toRgb } from "./scatter.js";

const SLOW = 150; // milliseconds; if drawing all points takes longer, only a sample is drawn
const MAX_DRAWN_IF_SLOW = 30000;

export class WebglScatter extends Scatter {
  makePoints() {
    try {
      const found = WebglPoints.make(this.middle);
      if (found) {
        found.again = () => this.redraw();
        this.kind = "webgl";
        return found;
      }
    } catch (error) {
      console.warn("WebGL cannot be used:", error.message);
      const fresh = document.createElement("canvas");
      fresh.className = "layer";
      this.middle.replaceWith(fresh);
      this.middle = fresh;
    }
    return super.makePoints();
  }

  get maxDrawn() {
    return this.isSlow ? MAX_DRAWN_IF_SLOW : super.maxDrawn;
  }

  paint() {
    if (!this.isTried && this.size && this.unit && this.codes?.length === this.n) this.relieve();
    super.paint();
  }

  // Draw a sample of the points if drawing all of them is slow.
  relieve() {
    this.isTried = true;
    if (this.kind !== "webgl" || this.drawn <= MAX_DRAWN_IF_SLOW) return;
    const start = performance.now();
    this.points.draw(this.view, this.pointSize * this.size.ratio, 1);
    this.points.finish();
    if (performance.now() - start < SLOW) return;
    this.isSlow = true;
    this.sample(MAX_DRAWN_IF_SLOW);
    this.setCodes(this.codes, this.sets);
    this.setSelection(this.mask ?? null);
    if (this.on.sampled) this.on.sampled();
  }
}

// A point is a disc in the color of its cluster, a disc with a sector for each of several clusters, a ring for more
// than four clusters, or a cross for an outlier.

const VERTEX = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
in vec2 place;
in int code;
in uint chosen;
uniform vec2 scale;
uniform vec2 offset;
uniform float size;
uniform int pass;       // 0: points that are not selected, 1: selected points
uniform bool selecting;
uniform float alpha;
uniform usampler2D sets;
flat out uvec4 colors;
flat out int number;
flat out float seen;
flat out float width;
void main() {
  bool mine = !selecting || chosen > 0u;
  if ((pass == 1) != mine) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    gl_PointSize = 0.0;
    return;
  }
  uvec4 set = texelFetch(sets, ivec2(code & 255, code >> 8), 0);
  number = 0;
  for (int k = 0; k < 4; k++) if (set[k] != 255u) number += 1;
  if (set[0] == 254u) number = 9;
  colors = set;
  seen = mine ? alpha : 0.13 * alpha;
  float grown = number == 1 ? 1.0 : number == 0 ? 1.1 : 1.3;
  width = size * grown;
  gl_PointSize = width + 2.0;
  gl_Position = vec4(place * scale + offset, 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
flat in uvec4 colors;
flat in int number;
flat in float seen;
flat in float width;
uniform vec3 palette[20];
uniform vec3 ink;
uniform vec3 paper;
out vec4 result;
void main() {
  vec2 p = (gl_PointCoord - 0.5) * (width + 2.0);
  float radius = 0.5 * width;
  float r = length(p);
  float edge = clamp(radius - r + 0.5, 0.0, 1.0);
  vec3 color = ink;
  float cover = edge;
  if (number == 0) {
    float arm = min(abs(p.x - p.y), abs(p.x + p.y)) * 0.7071;
    cover = edge * clamp(max(0.75, 0.11 * width) - arm + 0.5, 0.0, 1.0);
  } else if (number == 9) {
    cover = edge * clamp(r - 0.55 * radius + 0.5, 0.0, 1.0);
  } else if (number == 1) {
    color = palette[colors[0]];
  } else {
    int slice = 0;
    if (number == 2) slice = p.x < 0.0 ? 0 : 1;
    else slice = min(number - 1, int(floor((atan(p.x, p.y) / 6.2831853 + 0.5) * float(number))));
    color = palette[colors[slice]];
    // A thin outline shows that two colors belong to one point.
    float rim = clamp(r - radius + max(1.2, 0.13 * width), 0.0, 1.0);
    color = mix(color, ink, 0.75 * rim);
  }
  if (number == 1 && width > 7.0) {
    float rim = clamp(r - radius + 1.0, 0.0, 1.0);
    color = mix(color, paper, 0.55 * rim);
  }
  float a = cover * seen;
  if (a < 0.004) discard;
  result = vec4(color * a, a);
}`;

const TEXTURE_WIDTH = 256;
const RING = 254; // codes of a set of more than four clusters, and of no cluster
const NONE = 255;

function shader(gl, kind, source) {
  const made = gl.createShader(kind);
  gl.shaderSource(made, source);
  gl.compileShader(made);
  if (!gl.getShaderParameter(made, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(made));
  return made;
}

class WebglPoints {
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

  // Set the coordinates of the points in the unit square. Only the first n points are drawn.
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

  // `sets[code]` is the list of the clusters in the set with this code.
  setSets(sets) {
    const gl = this.gl;
    this.given = { ...(this.given || {}), sets };
    const height = Math.max(1, Math.ceil(sets.length / TEXTURE_WIDTH));
    const texels = new Uint8Array(4 * TEXTURE_WIDTH * height).fill(NONE);
    sets.forEach((set, code) => {
      if (set.length > 4) texels[4 * code] = RING;
      else set.forEach((cluster, k) => { texels[4 * code + k] = cluster % 20; });
    });
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8UI, TEXTURE_WIDTH, height, 0, gl.RGBA_INTEGER, gl.UNSIGNED_BYTE, texels);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
  }

  // Wait until all points are drawn.
  finish() {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  // The view {x, y, width, height} is the visible part of the unit square.
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
    gl.uniform3fv(this.at("ink"), toRgb(css("--ink", this.canvas)));
    gl.uniform3fv(this.at("paper"), toRgb(css("--paper", this.canvas)));
    for (const pass of this.selecting ? [0, 1] : [1]) {
      gl.uniform1i(this.at("pass"), pass);
      gl.drawArrays(gl.POINTS, 0, this.n);
    }
  }
}
