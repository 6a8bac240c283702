// How a point looks: a disc in the color of its cluster, slices of the colors of several, a cross for an outlier,
// a ring for "any of many".

export const VERTEX = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
in vec2 place;
in int code;
in uint chosen;
uniform vec2 scale;
uniform vec2 offset;
uniform float size;
uniform int pass;       // 0: the points that are not selected, 1: those that are
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

export const FRAGMENT = `#version 300 es
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
    // a thin rim, so that two colors are seen to be one point
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
