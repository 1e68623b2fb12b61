// An owner's rows by the campaign's schema (wire.md, "Rows"): every value has a place, so that no
// row can stop an answer. Nothing here leaves the owner.

/** A CSV file as { names, records }: records are objects of texts. */
export function readCsv(text) {
  const body = text.replace(/^\uFEFF/, "");
  const firstLine = body.slice(0, body.search(/[\r\n]|$/));
  const mark = [",", ";", "\t"].reduce((best, each) =>
    firstLine.split(each).length > firstLine.split(best).length ? each : best,
  );
  const [names, ...lines] = cells(body, mark);
  if (!names) throw new RangeError("the file is empty: its first line must name the columns");
  if (new Set(names).size < names.length) throw new RangeError("two columns have the same name");
  lines.forEach((line, i) => {
    if (line.length !== names.length) {
      throw new RangeError(`line ${i + 2} must have ${names.length} cells, got ${line.length}`);
    }
  });
  const records = lines.map((line) =>
    Object.fromEntries(names.map((name, i) => [name, line[i]])),
  );
  return { names, records };
}

function cells(text, mark) {
  const lines = [];
  let line = [];
  let cell = "";
  let isQuoted = false;
  const endLine = () => {
    line.push(cell);
    if (line.length > 1 || line[0] !== "") lines.push(line);
    line = [];
    cell = "";
  };
  for (let i = 0; i < text.length; i++) {
    const each = text[i];
    if (isQuoted) {
      if (each !== '"') cell += each;
      else if (text[i + 1] === '"') cell += text[++i];
      else isQuoted = false;
    } else if (each === '"' && cell === "") isQuoted = true;
    else if (each === mark) {
      line.push(cell);
      cell = "";
    } else if (each === "\n" || each === "\r") {
      if (each === "\r" && text[i + 1] === "\n") i++;
      endLine();
    } else cell += each;
  }
  endLine();
  return lines;
}

/** { rows, labels } of the records whose label is a class of the schema; the first `most`. */
export function encodeRows(schema, label, records, most) {
  const missing = [label, ...schema.features.map((each) => each.name)].filter(
    (name) => records.length && !(name in records[0]),
  );
  if (missing.length) throw new RangeError(`the columns ${missing.join(", ")} are missing`);
  const rows = [];
  const labels = [];
  for (const record of records) {
    const place = placeOf(schema.classes, record[label]);
    if (place < 0 || rows.length === most) continue;
    rows.push(Float64Array.from(schema.features.flatMap((each) => encode(each, record[each.name]))));
    labels.push(place);
  }
  return { rows, labels };
}

export function encode(feature, value) {
  if (feature.tag === "number") {
    const raw = numberOf(value);
    const { low, high } = feature;
    const scaled = (raw - (low / 2 + high / 2)) / (high / 2 - low / 2);
    return [Number.isNaN(scaled) ? 0 : Math.min(Math.max(scaled, -1), 1)];
  }
  const place = placeOf(feature.values, value);
  const hot = feature.values.map((_, i) => (i === place ? 1 : -1));
  return feature.values.length === 2 ? hot.slice(1) : hot;
}

function numberOf(value) {
  const isMissing = value === null || value === undefined || String(value).trim() === "";
  return isMissing ? NaN : Number(value);
}

/** The place of a value among the known ones; -1: it is not there. Texts of a file stand for the
 * numbers and truth values that they spell. */
function placeOf(known, value) {
  return known.findIndex((each) => {
    if (each === null) return value === null || value === undefined || value === "";
    if (typeof each === "number") return numberOf(value) === each;
    if (typeof each === "boolean") return String(value).toLowerCase() === String(each);
    return String(value) === each;
  });
}
