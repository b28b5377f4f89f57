import {
  DIAGRAM_FOLDER,
  type DiagramBlock,
  findDiagrams,
  hashIn,
  pictureFile,
  SCHEMES,
  sourceHash,
} from '../site/build/diagrams.ts'
import { type Finding, report } from './finding.ts'
import { readTree, type Tree } from './source-tree.ts'

const REMEDY = 'run `npm run diagrams` (CONTRIBUTING.md says what it needs) and commit docs/diagrams'

if (import.meta.main) {
  report(findStaleDiagrams(readTree('docs/**/*.md'), readTree(`${DIAGRAM_FOLDER}/*.svg`)))
}

export function findAllDiagrams(pages: Tree = readTree('docs/**/*.md')): DiagramBlock[] {
  return [...pages].flatMap(([file, text]) => findDiagrams(file, text))
}

/** Finds diagrams without a description or without a current picture, and pictures without a diagram. */
export function findStaleDiagrams(pages: Tree, pictures: Tree): Finding[] {
  const blocks = findAllDiagrams(pages)
  const wanted = new Set(blocks.flatMap((block) => SCHEMES.map((scheme) => pictureFile(block, scheme))))
  const orphans = [...pictures.keys()].filter((file) => !wanted.has(file))
  return [
    ...blocks.flatMap(withoutWords),
    ...blocks.flatMap((block) => withoutPicture(block, pictures)),
    ...orphans.map((file) => ({ file, problem: 'is the picture of no diagram', remedy: REMEDY })),
  ]
}

function withoutWords({ file, title, description }: DiagramBlock): Finding[] {
  if (title !== '' && description !== '') return []
  const remedy =
    'give it `accTitle: …` and `accDescr: …`: the caption, and what the picture says to people who cannot see it'
  return [{ file, problem: 'has a diagram without words', remedy }]
}

function withoutPicture(block: DiagramBlock, pictures: Tree): Finding[] {
  const isDrawn = SCHEMES.every(
    (scheme) => hashIn(pictures.get(pictureFile(block, scheme)) ?? '') === sourceHash(block),
  )
  if (isDrawn) return []
  return [
    { file: block.file, problem: `has a diagram (${block.name}) whose picture is missing or stale`, remedy: REMEDY },
  ]
}
