// What a release means, for people.

/** The cost of taking part, of a preview. */
export function costInWords({ cost, times, spent, total, offered }) {
  if (cost === null) return `Your limit allows none of the epsilons on offer: ${offered.join(", ")}.`;
  return (
    `Taking part costs epsilon ${round(cost)}: whoever had thought two stories about your rows ` +
    `equally likely can, from what leaves, hold one for at most ${round(times)} times as likely ` +
    `as the other. Of your budget of ${round(total)}, ${round(spent)} is spent.`
  );
}

/** Three digits, and up where they do not suffice: a cost is never told smaller than it is. */
export function round(value) {
  const digits = 10 ** Math.max(0, 2 - Math.floor(Math.log10(Math.max(value, 1e-9))));
  const up = Math.ceil(value * digits - 1e-9) / digits + 0; // -0 + 0 is 0
  return up.toLocaleString("en", { maximumFractionDigits: 12 });
}
