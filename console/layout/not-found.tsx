import { EmptyState } from '../components/empty-state.tsx'
import { ButtonLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'

export function NotFound() {
  return (
    <Page title="Not found">
      <EmptyState
        kind="nothing-yet"
        title="There is no such page"
        text="The address may be misspelt, or what it names was removed, or belongs to an account that you are not in."
        action={<ButtonLink to="/">To the overview</ButtonLink>}
      />
    </Page>
  )
}
