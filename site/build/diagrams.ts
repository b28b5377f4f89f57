import { createHash } from 'node:crypto'

/** The picture of a Mermaid block. */
export interface Diagram {
  /** Addresses of the picture for light and for dark pages. */
  readonly light: string
  readonly dark: string
  readonly width: number
  readonly height: number
  readonly title: string
  /** A description of the picture for screen readers. */
  readonly description: string
}

export interface DiagramBlock {
  /** The page's file, from the project's root. */
  readonly file: string
  /** The name of the pictures, without the scheme: `message-states-1`. */
  readonly name: string
  readonly source: string
  /** `accTitle` and `accDescr` of the block; empty when missing. */
  readonly title: string
  readonly description: string
}

export const DIAGRAM_FOLDER = 'docs/diagrams'
export const SCHEMES = ['light', 'dark'] as const
export type Scheme = (typeof SCHEMES)[number]

/** The Mermaid blocks of a page, in their order. */
export function findDiagrams(file: string, markdown: string): DiagramBlock[] {
  return [...markdown.matchAll(/^```mermaid\n([\s\S]*?)\n```$/gm)].map(([, source = ''], index) => ({
    file,
    name: `${file
      .replace(/^docs\//, '')
      .replace(/\.md$/, '')
      .replaceAll('/', '-')
      .toLowerCase()}-${index + 1}`,
    source,
    title: /^\s*accTitle:\s*(.+)$/m.exec(source)?.[1]?.trim() ?? '',
    description: /^\s*accDescr:\s*(.+)$/m.exec(source)?.[1]?.trim() ?? '',
  }))
}

export function pictureFile({ name }: Pick<DiagramBlock, 'name'>, scheme: Scheme): string {
  return `${DIAGRAM_FOLDER}/${name}-${scheme}.svg`
}

/** Stored in the picture: a picture with the hash of another source is stale. */
export function sourceHash({ source }: Pick<DiagramBlock, 'source'>): string {
  return createHash('sha256').update(source).digest('hex').slice(0, 32)
}

/** The hash in a picture; null: none. */
export function hashIn(svg: string): string | null {
  return /data-source="([0-9a-f]{32})"/.exec(svg)?.[1] ?? null
}

export function sizeOf(svg: string): { readonly width: number; readonly height: number } {
  const [, width = '0', height = '0'] = /viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg) ?? []
  return { width: Math.ceil(Number(width)), height: Math.ceil(Number(height)) }
}
