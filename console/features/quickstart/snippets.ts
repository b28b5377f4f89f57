export const LANGUAGES = ['curl', 'node', 'python', 'php'] as const
export type Language = (typeof LANGUAGES)[number]

interface Snippet {
  readonly name: string
  readonly highlight: 'bash' | 'javascript' | 'python' | 'php'
  readonly write: (endpoint: string, body: Json, token?: string) => string
}

/** The parts of a body. */
export type Json = string | { readonly [name: string]: Json }

/** The same call in each language, without packages. Without a token it comes from the environment, because code is stored. */
export const SNIPPETS: Readonly<Record<Language, Snippet>> = {
  curl: { name: 'curl', highlight: 'bash', write: curl },
  node: { name: 'Node', highlight: 'javascript', write: node },
  python: { name: 'Python', highlight: 'python', write: python },
  php: { name: 'PHP', highlight: 'php', write: php },
}

function curl(endpoint: string, body: Json, token = '$NUNCIO_TOKEN'): string {
  return `curl ${quoted(endpoint)} \\
  -H "x-api-key: ${token}" \\
  -H 'content-type: application/json' \\
  -d ${quoted(JSON.stringify(body, null, 2))}`
}

/** For a shell: within single quotes only the quote itself is special. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function node(endpoint: string, body: Json, token?: string): string {
  return `const response = await fetch(${JSON.stringify(endpoint)}, {
  method: 'POST',
  headers: { 'x-api-key': ${token ? `'${token}'` : 'process.env.NUNCIO_TOKEN'}, 'content-type': 'application/json' },
  body: JSON.stringify(${indented(JSON.stringify(body, null, 2), 2)}),
})
console.log(response.status, await response.json())`
}

// A JSON string is also a Python string.
function python(endpoint: string, body: Json, token?: string): string {
  return `import json, ${token ? '' : 'os, '}urllib.error, urllib.request

body = ${JSON.stringify(body, null, 4)}
request = urllib.request.Request(
    ${JSON.stringify(endpoint)},
    data=json.dumps(body).encode(),
    headers={"x-api-key": ${token ? `"${token}"` : 'os.environ["NUNCIO_TOKEN"]'}, "content-type": "application/json"},
)
try:
    response = urllib.request.urlopen(request)
except urllib.error.HTTPError as refusal:
    response = refusal
print(response.status, response.read().decode())`
}

function php(endpoint: string, body: Json, token?: string): string {
  return `<?php
$body = ${phpValue(body, '')};
$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [${token ? `'x-api-key: ${token}'` : "'x-api-key: ' . getenv('NUNCIO_TOKEN')"}, 'content-type: application/json'],
    'content' => json_encode($body),
    'ignore_errors' => true,
]]);
echo file_get_contents(${phpText(endpoint)}, false, $context);`
}

function phpValue(value: Json, indent: string): string {
  if (typeof value === 'string') return phpText(value)
  const inner = `${indent}    `
  const lines = Object.entries(value).map(([name, part]) => `${inner}${phpText(name)} => ${phpValue(part, inner)},\n`)
  return `[\n${lines.join('')}${indent}]`
}

function phpText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function indented(text: string, by: number): string {
  return text.replaceAll('\n', `\n${' '.repeat(by)}`)
}

/** What a program with one of the examples of the documents reads from its environment. */
export function environmentFile(token: string, endpoint: string): string {
  const base = endpoint.slice(0, endpoint.indexOf('/chat/api/'))
  return `# Keep this file secret, and out of version control.\nAPI_URL=${base}\nNUNCIO_TOKEN=${token}\n`
}
