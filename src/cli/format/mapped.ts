/** Maps each entry of a list while the list is read. */
export async function* mapped<From, To>(
  items: AsyncIterable<From> | Iterable<From>,
  map: (item: From) => To,
): AsyncIterable<To> {
  for await (const item of items) yield map(item)
}
