// Numbers that every client must find alike: exact fractions, odds, and functions of doubles that
// are sums and products in one order (wire.md, "Numbers").

/** A fraction of BigInts in lowest terms. */
export class Fraction {
  constructor(above, below = 1n) {
    const divisor = gcd(above < 0n ? -above : above, below);
    this.above = above / divisor;
    this.below = below / divisor;
  }

  /** The number that one writes: 0.1 is a tenth. Takes a double, or a text "3/20", "0.15", "2". */
  static of(written) {
    const text = String(written);
    const parts = text.split("/");
    if (parts.length === 2) return Fraction.of(parts[0]).over(Fraction.of(parts[1]));
    const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i.exec(text);
    if (!match) throw new RangeError("a number must be written in digits");
    const [, sign, whole, rest = "", power = "0"] = match;
    const digits = BigInt(sign + whole + rest);
    const shift = Number(power) - rest.length;
    return shift >= 0
      ? new Fraction(digits * 10n ** BigInt(shift))
      : new Fraction(digits, 10n ** BigInt(-shift));
  }

  plus(other) {
    return new Fraction(
      this.above * other.below + other.above * this.below,
      this.below * other.below,
    );
  }

  over(other) {
    if (!(other.above > 0n)) throw new RangeError("a divisor must be above 0");
    return new Fraction(this.above * other.below, this.below * other.above);
  }

  times(count) {
    return new Fraction(this.above * BigInt(count), this.below);
  }

  isAtMost(other) {
    return this.above * other.below <= other.above * this.below;
  }

  get float() {
    return Number(this.above) / Number(this.below);
  }

  toString() {
    return this.below === 1n ? `${this.above}` : `${this.above}/${this.below}`;
  }
}

export const ZERO = new Fraction(0n);

function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a || 1n;
}

const BITS = 320n;

/** floor(base e^epsilon), the heavier weight beside `base`: never above the true odds. */
export function highOdds(epsilon, base) {
  if (!(Fraction.of("0.0001").isAtMost(epsilon) && epsilon.isAtMost(new Fraction(20n)))) {
    throw new RangeError("an epsilon must be from 0.0001 to 20 for each released value");
  }
  let term = 1n << BITS;
  let total = term;
  for (let count = 1n; term; count++) {
    term = (term * epsilon.above) / (epsilon.below * count);
    total += term;
  }
  const high = (total * base) >> BITS;
  if (!(high > base)) throw new RangeError("the grid is too coarse for this epsilon");
  return high;
}

const FACTORIALS = [479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1];
const POWERS = new Float64Array(2046); // 2^-1022 to 2^1023, by halving and doubling: exact
POWERS[1022] = 1;
for (let i = 1023; i < 2046; i++) POWERS[i] = POWERS[i - 1] * 2;
for (let i = 1021; i >= 0; i--) POWERS[i] = POWERS[i + 1] / 2;

/** e^x; Math.exp may round otherwise elsewhere. */
export function exponential(x) {
  if (!(x >= -708)) return 0;
  if (x > 709) return Infinity;
  const octaves = Math.floor(x * 1.4426950408889634 + 0.5);
  const r = x - octaves * 0.6931471803691238 - octaves * 1.9082149292705877e-10;
  let total = 1 / 6227020800;
  for (const factorial of FACTORIALS) total = total * r + 1 / factorial;
  return total * POWERS[octaves + 1022];
}

const COSINE = [87178291200, 479001600, 3628800, 40320, 720, 24, 2, 1];
const SINE = [1307674368000, 6227020800, 39916800, 362880, 5040, 120, 6, 1];

/** [cosine, sine] of an angle. */
export function turn(angle) {
  const x = Math.abs(angle) <= 1e6 ? angle : 0;
  const quarters = Math.floor(x * 0.6366197723675814 + 0.5);
  let r = x - quarters * 1.5707963267341256;
  r = r - quarters * 6.077100506303966e-11 - quarters * 2.0222662487959506e-21;
  const z = r * r;
  const c = alternate(1 / 20922789888000, COSINE, z);
  const s = alternate(1 / 355687428096000, SINE, z) * r;
  const quadrant = quarters - 4 * Math.floor(quarters * 0.25);
  if (quadrant === 0) return [c, s];
  if (quadrant === 1) return [-s, c];
  return quadrant === 2 ? [-c, -s] : [s, -c];
}

/** total z - 1/f, then + 1/f, and so on. */
function alternate(total, factorials, z) {
  let sign = -1;
  for (const factorial of factorials) {
    total = total * z + sign / factorial;
    sign = -sign;
  }
  return total;
}

/** (classes, classes - 1) orthonormal columns that add up to 0, row by row. */
export function contrasts(classes) {
  const rows = Array.from({ length: classes }, () => new Float64Array(classes - 1));
  for (let i = 1; i < classes; i++) {
    const length = Math.sqrt(i * (i + 1));
    for (let j = 0; j < i; j++) rows[j][i - 1] = 1 / length;
    rows[i][i - 1] = -i / length;
  }
  return rows;
}
