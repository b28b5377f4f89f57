import type { CodeLanguage } from '../../components/code-block.tsx'

interface Sending {
  readonly endpoint: string
  readonly token: string
  /** The sender number. */
  readonly from: string
}

interface Example {
  readonly name: string
  readonly language: CodeLanguage
  readonly code: string
}

// From a range that is not assigned; sandbox connections treat it as an ordinary recipient.
export const TEST_TO = '15551234567'
export const TEST_TEXT = 'Hello from Nuncio'

/** A complete request in the most common languages. */
export function sendExamples(sending: Sending): readonly Example[] {
  return [
    { name: 'curl', language: 'bash', code: curl(sending) },
    { name: 'Node', language: 'javascript', code: node(sending) },
    { name: 'Python', language: 'python', code: python(sending) },
    { name: 'PHP', language: 'php', code: php(sending) },
  ]
}

function curl({ endpoint, token, from }: Sending): string {
  const body = JSON.stringify({ from, to: TEST_TO, message: { type: 'message', message: TEST_TEXT } })
  return `curl '${endpoint}' \\
  -H 'x-api-key: ${token}' \\
  -H 'content-type: application/json' \\
  -d '${body}'`
}

function node({ endpoint, token, from }: Sending): string {
  return `const response = await fetch('${endpoint}', {
  method: 'POST',
  headers: { 'x-api-key': '${token}', 'content-type': 'application/json' },
  body: JSON.stringify({
    from: '${from}',
    to: '${TEST_TO}',
    message: { type: 'message', message: '${TEST_TEXT}' },
  }),
})
console.log(response.status, await response.json())`
}

function python({ endpoint, token, from }: Sending): string {
  return `import json, urllib.request

body = {
    "from": "${from}",
    "to": "${TEST_TO}",
    "message": {"type": "message", "message": "${TEST_TEXT}"},
}
request = urllib.request.Request(
    "${endpoint}",
    data=json.dumps(body).encode(),
    headers={"x-api-key": "${token}", "content-type": "application/json"},
)
with urllib.request.urlopen(request) as response:
    print(response.status, response.read().decode())`
}

function php({ endpoint, token, from }: Sending): string {
  return `<?php
$body = [
    'from' => '${from}',
    'to' => '${TEST_TO}',
    'message' => ['type' => 'message', 'message' => '${TEST_TEXT}'],
];
$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => ['x-api-key: ${token}', 'content-type: application/json'],
    'content' => json_encode($body),
    'ignore_errors' => true,
]]);
echo file_get_contents('${endpoint}', false, $context);`
}
