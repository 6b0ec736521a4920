// What the page carries packed (packing.py): the JSON in that element, null without it or without a way to unpack.
const canUnpack = "DecompressionStream" in window;
async function unpackedFrom(id) {
  const source = document.getElementById(id);
  if (!source || !canUnpack) return null;
  const bytes = Uint8Array.from(atob(source.textContent), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
