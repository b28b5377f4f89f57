import { PasswordInput, type PasswordInputProps } from '@mantine/core'

interface NewPasswordProps extends PasswordInputProps {
  /** Null: it is not known here. */
  readonly hasSecondFactor: boolean | null
}

/** Works with password managers: the password is typed once, and pasting works. */
export function NewPassword({ hasSecondFactor, ...props }: NewPasswordProps) {
  const least = hasSecondFactor === true ? 12 : 15
  return (
    <PasswordInput
      label="Password"
      description={`At least ${least} characters${hasSecondFactor === null ? ', or 12 if you have a second factor' : ''}. Some words in a row are fine.`}
      autoComplete="new-password"
      {...props}
    />
  )
}
