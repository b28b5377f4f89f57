/** Turns each entry of a list into what is printed of it, while the list is read. */
export async function* mapped<From, To>(
  items: AsyncIterable<From> | Iterable<From>,
  map: (item: From) => To,
): AsyncIterable<To> {
  for await (const item of items) yield map(item)
}
