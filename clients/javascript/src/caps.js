// PrivUnit's constants: of how many codewords, N, how many are favoured, k (wire.md, "Caps").
//
// Privacy holds whatever N and k are; the data user reads reports by them, so both sides must
// choose alike.

const PANELS = 32;
const NODES = 48;
const GAIN = 0.017; // doubling N must lower the error by more than this
const FEWEST = 5; // of the logarithm of N
const MOST = 12;

const known = new Map();

/** { candidates, favoured } for a dimension and the weights A (high) and B (low). */
export function bestCap(dim, high, low) {
  const name = `${dim} ${high} ${low}`;
  if (!known.has(name)) known.set(name, findCap(dim, high, low));
  return known.get(name);
}

function findCap(dim, heavy, light) {
  const nodes = halfSphere(dim);
  const best = (candidates) => bestOf(nodes, dim, [heavy, light], candidates);
  let chosen = best(1 << FEWEST);
  for (let bits = FEWEST + 1; bits <= MOST; bits++) {
    const larger = best(1 << bits);
    if (larger.pull ** 2 < chosen.pull ** 2 * (1 + GAIN)) break;
    chosen = larger;
  }
  return chosen;
}

/** The number of favoured codewords with the largest pull, of those whose weights add up to less
 * than 2^64: pull rises, then falls. */
function bestOf(nodes, dim, [heavy, light], candidates) {
  const odds = Number(heavy) / Number(light);
  const room = ((1n << 64n) - 1n - BigInt(candidates) * light) / (heavy - light);
  const pull = (favoured) => {
    const total = favoured * odds + (candidates - favoured);
    return (favoured * (odds - 1) * lean(nodes, dim, candidates / 2, favoured)) / total;
  };
  let low = 1;
  let high = Math.min(candidates / 2, Number(room));
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (pull(middle) < pull(middle + 1)) low = middle + 1;
    else high = middle;
  }
  return { candidates, favoured: low, pull: pull(low) };
}

/** The expected mean of the `favoured` largest of so many |X|, X a coordinate of a direction. */
function lean(nodes, dim, pairs, favoured) {
  if (dim === 1) return 1;
  let sum = 0;
  for (const { x, density, below } of nodes) {
    const kept = favoured === pairs ? 1 : incompleteBeta(pairs - favoured, favoured, below);
    sum += x * kept * density;
  }
  return (pairs / favoured) * sum;
}

/** |X|: places, weight times density, and how likely it is to be below. */
function halfSphere(dim) {
  if (dim === 1) return [];
  const reach = Math.min(Math.PI / 2, 14 / Math.sqrt(dim));
  const half = reach / (2 * PANELS);
  const constant = logGamma(dim / 2) - logGamma((dim - 1) / 2) - 0.5 * Math.log(Math.PI);
  const found = [];
  for (let panel = 0; panel < PANELS; panel++) {
    for (const { at, weight } of LEGENDRE) {
      const angle = half * (2 * panel + 1 + at);
      const x = Math.sin(angle);
      const density = 2 * Math.exp(constant + (dim - 2) * Math.log(Math.cos(angle)));
      // the square of a coordinate has the law Beta(1/2, (dim - 1) / 2)
      found.push({
        x,
        density: density * weight * half,
        below: incompleteBeta(0.5, (dim - 1) / 2, x * x),
      });
    }
  }
  return found;
}

const LEGENDRE = Array.from({ length: NODES }, (_, i) => {
  let at = Math.cos((Math.PI * (i + 0.75)) / (NODES + 0.5));
  let slope = 1;
  for (let step = 0; step < 50; step++) {
    let before = 1;
    let here = at;
    for (let n = 2; n <= NODES; n++) {
      [before, here] = [here, ((2 * n - 1) * at * here - (n - 1) * before) / n];
    }
    slope = (NODES * (at * here - before)) / (at * at - 1);
    const move = here / slope;
    at -= move;
    if (Math.abs(move) < 1e-16) break;
  }
  return { at, weight: 2 / ((1 - at * at) * slope * slope) };
});

/** I_x(a, b), by its continued fraction. */
export function incompleteBeta(a, b, x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  return x < (a + 1) / (a + b + 2)
    ? (front * fraction(a, b, x)) / a
    : 1 - (front * fraction(b, a, 1 - x)) / b;
}

function fraction(a, b, x) {
  const tiny = 1e-300;
  let c = 1;
  let d = 1 / guard(1 - ((a + b) * x) / (a + 1), tiny);
  let h = d;
  for (let m = 1; m < 5000; m++) {
    let step = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + step * d, tiny);
    c = guard(1 + step / c, tiny);
    h *= d * c;
    step = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + step * d, tiny);
    c = guard(1 + step / c, tiny);
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-16) break;
  }
  return h;
}

const guard = (value, tiny) => (Math.abs(value) < tiny ? tiny : value);

/** The logarithm of the gamma function, x > 0: Stirling's series beyond 16. */
export function logGamma(x) {
  let shift = 1;
  while (x < 16) shift *= x++;
  const z = 1 / (x * x);
  const series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - Math.log(shift);
}
