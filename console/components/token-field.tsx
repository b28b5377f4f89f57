import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import { useAccount } from './account.tsx'
import { TextLink } from './links.tsx'

interface TokenFieldProps extends Pick<PasswordInputProps, 'ref'> {
  /** Null: none yet. */
  readonly token: string | null
  readonly error: string | null
  readonly onToken: (token: string) => void
  readonly 'data-path'?: string
}

/** The field for an API token to try something with. See `useTokenInHand`. */
export function TokenField({ token, error, onToken, ...field }: TokenFieldProps) {
  const { id: account } = useAccount()
  return (
    <PasswordInput
      {...field}
      label="API token"
      description={
        <>
          Stays in the memory of this tab, and nowhere else. None at hand?{' '}
          <TextLink to="/a/$account/developer/tokens/new" params={{ account }} size="xs">
            Create one
          </TextLink>
        </>
      }
      placeholder="nco_…"
      autoComplete="off"
      value={token ?? ''}
      error={error}
      onChange={({ currentTarget }) => onToken(currentTarget.value.trim())}
      visibilityToggleButtonProps={{ 'aria-label': 'Show the token' }}
    />
  )
}
