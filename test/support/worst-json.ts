/** An input: a piece that is repeated, with an optional prefix and suffix. */
export type Shape = readonly [what: string, piece: string, before?: string, behind?: string]

/** JSON texts, complete and broken, that might make a parser read the same byte many times. */
export const WORST_JSON: readonly Shape[] = [
  ['colons behind an escaped string', ':', '["\\\\","a"'],
  ['colons behind a long string', ':', `{"${'a'.repeat(1024)}\\n"`],
  ['escaped quotes', '\\"', '"', '"'],
  ['backslashes', '\\\\', '"', '"'],
  ['backslashes without an end', '\\', '"'],
  ['strings without an end', '"a', '['],
  ['empty strings', '"",', '[', '""]'],
  ['escaped strings', '"\\\\",', '[', '""]'],
  ['one escaped key again and again', '"\\u0061":1,', '{', '"":1}'],
  ['keys that are repeated', '"a":1,', '{', '"":1}'],
  ['a repeated key of many letters', 'a', '{"a":1,"a":{"', '":1}}'],
  ['blanks behind a string', ' ', '{"\\\\"', ':1}'],
  ['blanks behind strings', '"\\\\" :"" ,', '{', '"":""}'],
  ['half characters at the end', '\\u0061', '["', '\\ud83d"]'],
  ['brackets', '[]', '', ''],
  ['brackets that are never closed', '['],
  ['empty objects', '{},', '[', '{}]'],
  ['a number of many digits', '1', '[', ']'],
  ['a number of many digits behind its point', '1', '[0.', 'e-999]'],
  ['wide letters', '名', '["', '"]'],
]
