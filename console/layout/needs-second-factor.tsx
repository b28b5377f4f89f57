import { EmptyState } from '../components/empty-state.tsx'
import { ButtonLink } from '../components/links.tsx'
import { Page } from '../components/page.tsx'

/** In place of every page of an account that lets in nobody with a password alone. */
export function NeedsSecondFactor({ account }: { readonly account: string }) {
  return (
    <Page title="One more step">
      <EmptyState
        kind="nothing-yet"
        title={`${account} wants a second factor`}
        text="Its owners let in only people who prove themselves by a passkey or by a code of an app, beside the password. Set one of them up in your profile; it takes a minute."
        action={<ButtonLink to="/me">Set up a second factor</ButtonLink>}
      />
    </Page>
  )
}
