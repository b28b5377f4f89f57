/** The environment of this process, with something added: for a program that it starts. */
export function childEnvironment(added: Readonly<Record<string, string>>): Record<string, string | undefined> {
  return { ...process.env, ...added }
}
