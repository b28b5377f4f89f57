import { Anchor, type AnchorProps } from '@mantine/core'
import { SERVICE_PATH } from '../app/service-path.ts'
import type { Native } from './links.tsx'

interface DocsLinkProps extends AnchorProps, Omit<Native<AnchorProps>, 'href' | 'target'> {
  /** Below `/docs/`, such as `api`. */
  readonly page: string
}

/** A link to the documents. It opens a new tab, because this one may hold what is stored nowhere else: typed text, a new token. */
export function DocsLink({ page, ...props }: DocsLinkProps) {
  return <Anchor underline="always" inherit {...props} href={`${SERVICE_PATH}/docs/${page}`} target="_blank" />
}
