// What an owner computes for a classifier's question: residuals of the published model times public
// features, averaged over its rows (wire.md, "Shares"). Loops are in the order that the page fixes,
// so that every client finds the same bits. Rows are Float64Arrays, labels class numbers.

import { featureCount, widthOf } from "./messages.js";
import { contrasts, exponential, turn } from "./numbers.js";

/** The share of one owner, moved into the ball. */
export function shareOf(query, rows, labels) {
  const { learner, facts } = query;
  const size = featureCount(learner.features);
  const share = new Float64Array((facts.classes - 1) * size);
  const matrix = contrasts(facts.classes);
  rows.forEach((row, i) => {
    const phi = mapRow(learner.features, row);
    const chances = softmax(affine(phi, null, learner.weights));
    const residuals = classResiduals(chances, labels[i], matrix);
    let length = 0;
    for (let j = 0; j < size; j++) length += phi[j] * phi[j];
    length = longestResidual(chances) * Math.sqrt(length);
    const w = (length > learner.reach ? learner.reach / length : 1) / rows.length;
    for (let a = 0; a < residuals.length; a++) {
      const weight = w * residuals[a];
      for (let j = 0; j < size; j++) share[a * size + j] += weight * phi[j];
    }
  });
  return intoBall(share, learner.radius);
}

/** (row - centre) times a matrix (rows, columns): coordinate by coordinate, zeros left out. */
function affine(row, centre, matrix) {
  const [height, width] = matrix.shape;
  const out = new Float64Array(width);
  for (let j = 0; j < height; j++) {
    const x = row[j] - (centre ? centre.values[j] : 0);
    if (x !== 0) for (let k = 0; k < width; k++) out[k] += x * matrix.values[j * width + k];
  }
  return out;
}

/** The features of a row: a constant, and the expansion in public coordinates. */
export function mapRow(map, row) {
  const out = new Float64Array(featureCount(map));
  const expanded = expand(map.expansion, row);
  out[0] = map.level;
  if (map.matrix.shape.length === 1) {
    for (let j = 0; j < expanded.length; j++) {
      out[1 + j] = (expanded[j] - map.centre.values[j]) * map.matrix.values[j];
    }
  } else {
    out.set(affine(expanded, map.centre, map.matrix), 1);
  }
  return out;
}

function expand(expansion, row) {
  switch (expansion.tag) {
    case "features.rows":
      return row;
    case "features.products":
      return products(affine(row, expansion.centre, expansion.axes), expansion.reach);
    case "features.waves":
      return waves(affine(row, expansion.centre, expansion.axes));
    case "features.joined": {
      const out = new Float64Array(widthOf(expansion, row.length));
      let at = 0;
      for (const part of expansion.parts) {
        const made = expand(part, row);
        out.set(made, at);
        at += made.length;
      }
      return out;
    }
    case "features.leaves":
      return leaves(expansion.trees, row);
    default: {
      const { classes } = expansion.model;
      const matrix = contrasts(classes);
      const flat = Float64Array.from(matrix.flatMap((each) => [...each]));
      const said = scoresOf(expansion.model, row);
      return affine(said, null, { shape: [classes, classes - 1], values: flat });
    }
  }
}

function products(raw, reach) {
  const flat = raw.map((each) => Math.min(Math.max(each, -reach), reach));
  const size = flat.length;
  const out = new Float64Array(size + (size * (size + 1)) / 2);
  let place = size;
  for (let j = 0; j < size; j++) {
    out[j] = flat[j];
    for (let k = j; k < size; k++) out[place++] = flat[j] * flat[k];
  }
  return out;
}

function waves(angles) {
  const half = angles.length;
  const out = new Float64Array(2 * half);
  for (let j = 0; j < half; j++) [out[j], out[half + j]] = turn(angles[j]);
  return out;
}

/** The node that a row ends at in a tree. */
function leafOf(trees, tree, row) {
  let node = trees.roots.values[tree];
  while (trees.column.values[node] >= 0) {
    const below = row[trees.column.values[node]] <= trees.cut.values[node];
    node = (below ? trees.left : trees.right).values[node];
  }
  return node;
}

function leaves(trees, row) {
  const number = new Map();
  trees.column.values.forEach((each, node) => each < 0 && number.set(node, number.size));
  const out = new Float64Array(number.size);
  for (let tree = 0; tree < trees.roots.values.length; tree++) {
    out[number.get(leafOf(trees, tree, row))] = 1;
  }
  return out;
}

function scoresOf(model, row) {
  const total = new Float64Array(model.classes);
  for (const term of model.terms) {
    const said = scoresOfTerm(term, row, model.classes);
    for (let k = 0; k < total.length; k++) total[k] += said[k];
  }
  return total;
}

function scoresOfTerm(term, row, classes) {
  if (term.tag === "term.linear") {
    return affine(row, null, term.weights).map((each, k) => each + term.level.values[k]);
  }
  if (term.tag === "term.forest") {
    const sum = new Float64Array(classes);
    for (let tree = 0; tree < term.trees.roots.values.length; tree++) {
      sum[term.trees.classes.values[tree]] += term.trees.value.values[leafOf(term.trees, tree, row)];
    }
    return sum.map((each, k) => term.temperature * each + term.level.values[k]);
  }
  return mappedScores(term, row, classes);
}

/** Scores of weights over features, folded to weights over the expansion first. */
function mappedScores({ features, weights }, row, classes) {
  const { matrix, centre, level } = features;
  const width = centre.values.length;
  const rest = weights.values.subarray(classes);
  const folded = new Float64Array(width * classes);
  const count = matrix.shape[matrix.shape.length - 1];
  for (let j = 0; j < width; j++) {
    if (matrix.shape.length === 1) {
      for (let k = 0; k < classes; k++) {
        folded[j * classes + k] = matrix.values[j] * rest[j * classes + k];
      }
    } else {
      const line = matrix.values.subarray(j * count, (j + 1) * count);
      folded.set(affine(line, null, { shape: [count, classes], values: rest }), j * classes);
    }
  }
  const shape = { shape: [width, classes], values: folded };
  const said = affine(expand(features.expansion, row), centre, shape);
  return said.map((each, k) => each + level * weights.values[k]);
}

export function softmax(scores) {
  let largest = scores[0];
  for (const each of scores) if (each > largest) largest = each;
  const out = new Float64Array(scores.length);
  let total = 0;
  for (let k = 0; k < out.length; k++) {
    out[k] = exponential(scores[k] - largest);
    total += out[k];
  }
  return out.map((each) => each / total);
}

/** C^T (e_y - chances). */
function classResiduals(chances, label, matrix) {
  const out = new Float64Array(chances.length - 1);
  for (let k = 0; k < chances.length; k++) {
    const residual = -chances[k] + (k === label ? 1 : 0);
    for (let a = 0; a < out.length; a++) out[a] += residual * matrix[k][a];
  }
  return out;
}

/** The length of e_k - chances for the class k that makes it longest. */
function longestResidual(chances) {
  let squares = 0;
  let least = Infinity;
  for (const each of chances) {
    squares += each * each;
    least = Math.min(least, each);
  }
  return Math.sqrt(Math.max(1 - 2 * least + squares, 0));
}

/** A vector, shortened to a length of at most `radius`; what is no number counts as 0. */
export function intoBall(vector, radius) {
  let square = 0;
  for (const each of vector) square += each * each;
  if (square <= radius * radius) return vector;
  const isEndless = vector.some((each) => Math.abs(each) === Infinity);
  const finite = vector.map((each) => {
    if (isEndless) return each === Infinity ? radius : each === -Infinity ? -radius : 0;
    return each === each ? each : 0;
  });
  let peak = 0;
  for (const each of finite) peak = Math.max(peak, Math.abs(each));
  if (!(peak > 0)) return finite;
  const unit = finite.map((each) => each / peak);
  square = 0;
  for (const each of unit) square += each * each;
  const length = Math.sqrt(square);
  if (!(peak * length > radius)) return finite;
  const scale = radius / length;
  return unit.map((each) => each * scale);
}
