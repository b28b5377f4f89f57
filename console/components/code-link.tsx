import { Code } from '@mantine/core'
import { DocsLink } from './docs-link.tsx'

interface CodeLinkProps {
  readonly code: string
  /** The page of the documents that has a row for it. */
  readonly page: 'reasons' | 'refusals' | 'alarms'
}

/** A stable code, as a link to its row in the documents: what it means and what to do. */
export function CodeLink({ code, page }: CodeLinkProps) {
  return (
    <DocsLink page={`${page}#${code}`} title={`${code} in the documents`} underline="hover">
      <Code c="inherit">{code}</Code>
    </DocsLink>
  )
}
