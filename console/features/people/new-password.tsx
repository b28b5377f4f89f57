import { PasswordInput, type PasswordInputProps } from '@mantine/core'

/** Works with password managers: the password is typed once, and pasting works. */
export function NewPassword(props: PasswordInputProps) {
  return (
    <PasswordInput
      label="Password"
      description="At least 15 characters. Some words in a row are fine; 12 are enough with a second factor."
      autoComplete="new-password"
      {...props}
    />
  )
}
