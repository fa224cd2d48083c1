// Prints the medians of Lighthouse's reports of a page: medians.js URL REPORT...
const fs = require("fs");

const [page, ...files] = process.argv.slice(2);
const reports = files.map((file) => JSON.parse(fs.readFileSync(file, "utf8")));
for (const { runtimeError } of reports) {
  if (runtimeError) {
    console.error(`lighthouse: ${page}: ${runtimeError.message}`);
    process.exit(1);
  }
}
const median = (read) => reports.map(read).sort((a, b) => a - b)[reports.length >> 1];

console.log(page);
for (const category of ["performance", "accessibility", "best-practices"]) {
  console.log(`  ${category.padEnd(15)} ${Math.round(100 * median((r) => r.categories[category].score))}`);
}
console.log(`  FCP             ${Math.round(median((r) => r.audits["first-contentful-paint"].numericValue))} ms`);

const last = reports[reports.length - 1];
for (const { auditRefs } of Object.values(last.categories)) {
  for (const { id, weight } of auditRefs) {
    const { score, title } = last.audits[id];
    if (weight > 0 && score !== null && score < 0.9) {
      console.log(`  - ${id}: ${title}`);
    }
  }
}
