// Assign each object to the set with the largest product of mass and weight. Two sliders set the weight of the empty
// set (outliers) and the weight of sets of several clusters (ambiguous objects).
//
// In the middle of a slider the weight is one, which is the decision of the library. At the ends it is 0.01 and 100. The
// exports use the same weights, which are rounded so that the command is short.

export function sliderWeight(slider) {
  return Number((10 ** (2 * slider)).toPrecision(3));
}

// Return the weights of the sliders as parameters of a request.
export function exportWeights(weights) {
  return { outlier_weight: sliderWeight(weights.outliers), ambiguity_weight: sliderWeight(weights.ambiguity) };
}

// Write the code of the set of each object into `codes`; return the number of objects of each set.
export function decide(objects, weights, codes) {
  const { n, empty, single, several, sets } = objects;
  const counts = new Int32Array(sets.length);
  if (weights.outliers === 0 && weights.ambiguity === 0) {
    codes.set(objects.best);
    for (let i = 0; i < n; i++) counts[codes[i]] += 1;
    return counts;
  }
  const outlier = sliderWeight(weights.outliers);
  const ambiguous = sliderWeight(weights.ambiguity);
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

// Count the certain and ambiguous objects and the outliers.
export function countStates(objects, counts) {
  const found = { certain: 0, ambiguous: 0, outliers: 0 };
  objects.sets.forEach((set, code) => {
    found[set.length === 0 ? "outliers" : set.length === 1 ? "certain" : "ambiguous"] += counts[code];
  });
  return found;
}
