import { Anchor, Code } from '@mantine/core'
import { SERVICE_PATH } from '../app/service-path.ts'

interface CodeLinkProps {
  readonly code: string
  /** The page of the documents that has a row for it. */
  readonly page: 'reasons' | 'refusals' | 'alarms'
}

/** A stable code, as a link to its row in the documents: what it means and what to do. */
export function CodeLink({ code, page }: CodeLinkProps) {
  return (
    <Anchor href={`${SERVICE_PATH}/docs/${page}#${code}`} title={`${code} in the documents`} inherit>
      <Code c="inherit">{code}</Code>
    </Anchor>
  )
}
