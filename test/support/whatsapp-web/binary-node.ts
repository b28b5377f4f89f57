/** The tree of nodes that both sides send in their frames. Attributes are texts; content is bytes or child nodes. */
export interface BinaryNode {
  readonly tag: string
  readonly attrs: Readonly<Record<string, string>>
  readonly content?: readonly BinaryNode[] | Uint8Array | string | undefined
}

/** The address of the server itself. */
export const SERVER = 's.whatsapp.net'

export function childrenOf(node: BinaryNode | undefined, tag?: string): readonly BinaryNode[] {
  const content = node?.content
  if (!Array.isArray(content)) return []
  const children: readonly BinaryNode[] = content
  return children.filter((child) => tag === undefined || child.tag === tag)
}

export function childOf(node: BinaryNode | undefined, tag: string): BinaryNode | undefined {
  return childrenOf(node, tag)[0]
}

/** Empty if there is no such node. */
export function bytesOf(node: BinaryNode | undefined): Buffer {
  const content = node?.content
  return content === undefined || Array.isArray(content) ? Buffer.alloc(0) : Buffer.from(content as Uint8Array)
}

export function numberOf(node: BinaryNode | undefined): number {
  const bytes = bytesOf(node)
  return bytes.length === 0 ? 0 : bytes.readUIntBE(0, bytes.length)
}

export function element(tag: string, content: Uint8Array | readonly BinaryNode[] = []): BinaryNode {
  return { tag, attrs: {}, content }
}

export function bigEndian(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  buffer.writeUIntBE(value, 0, bytes)
  return buffer
}

export function secondsNow(): string {
  return String(Math.floor(Date.now() / 1000))
}

/** The answer that says that a query succeeded. */
export function resultOf(query: BinaryNode, content?: readonly BinaryNode[]): BinaryNode {
  return { tag: 'iq', attrs: { from: SERVER, type: 'result', id: query.attrs['id'] ?? '' }, content }
}

export function errorOf(query: BinaryNode, code: string, text: string): BinaryNode {
  return {
    tag: 'iq',
    attrs: { from: SERVER, type: 'error', id: query.attrs['id'] ?? '' },
    content: [{ tag: 'error', attrs: { code, text } }],
  }
}
