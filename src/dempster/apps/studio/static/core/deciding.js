// What each object is, as the two sliders have it: the set with the largest product of mass and weight.
//
// A slider in the middle gives the weight one: the answer is then that of the library itself. To the left the weight of
// outliers (or of ambiguous sets) falls to zero, to the right it rises to a hundred.

export function weightOf(slider) {
  return slider <= -1 ? 0 : 10 ** (2 * slider);
}

// Codes of the sets of all objects, written into `codes`; returns how many objects each set has.
export function decide(objects, weights, codes) {
  const { n, empty, single, several, sets } = objects;
  const counts = new Int32Array(sets.length);
  if (weights.outliers === 0 && weights.ambiguity === 0) {
    codes.set(objects.best);
    for (let i = 0; i < n; i++) counts[codes[i]] += 1;
    return counts;
  }
  const outlier = weightOf(weights.outliers);
  const ambiguous = weightOf(weights.ambiguity);
  for (let i = 0; i < n; i++) {
    const e = empty[i] * outlier;
    const s = single[i];
    const a = several[i] * ambiguous;
    let code = objects.single_set[i];
    if (e > 0 && e >= s && e >= a) code = objects.empty_set[i];
    else if (a > s) code = objects.several_set[i];
    codes[i] = code;
    counts[code] += 1;
  }
  return counts;
}

// Certain, ambiguous and outlying objects among the counts of sets.
export function states(objects, counts) {
  const found = { certain: 0, ambiguous: 0, outliers: 0 };
  objects.sets.forEach((set, code) => {
    found[set.length === 0 ? "outliers" : set.length === 1 ? "certain" : "ambiguous"] += counts[code];
  });
  return found;
}
