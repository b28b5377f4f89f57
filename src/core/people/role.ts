/** What a person may do in an account. Each may do all that those before it may. The console's contract says the same. */
export type Role = 'viewer' | 'developer' | 'owner'
