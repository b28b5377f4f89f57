/** Why a part of a callback says nothing to us. */
export type IgnoredReason =
  | 'not_an_account'
  | 'field_unknown'
  | 'part_malformed'
  | 'number_unknown'
  | 'status_unknown'
  | 'not_ours'
  | 'too_many'
