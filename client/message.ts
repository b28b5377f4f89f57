/** A file that the service fetches before it sends it. */
export interface MediaFile {
  /** Public http or https address, reachable without authentication. */
  readonly url: string
  /** The name the recipient sees, with its extension: `invoice.pdf`. */
  readonly name: string
  /** Text beneath it. */
  readonly caption?: string | undefined
}

/** A sound file. It has no caption: the recipient would never see one. */
export interface AudioFile extends Omit<MediaFile, 'caption'> {
  readonly caption?: never
}

interface Contents {
  /** What the recipient reads. */
  readonly text: string
  readonly image: MediaFile
  readonly document: MediaFile
  readonly video: MediaFile
  readonly audio: AudioFile
}

/** What a message is: a message has exactly one of these. */
export type MessageType = keyof Contents

type Only<Type extends MessageType> = Pick<Contents, Type> & {
  readonly [Other in Exclude<MessageType, Type>]?: never
}

interface Ends {
  /** One of your connected numbers: country code and digits only, `14155550100`. */
  readonly from: string
  /** The recipient's number, written in the same way. */
  readonly to: string
}

/** One message: its sender, its recipient, and exactly one of `text`, `image`, `document`, `video` and `audio`. */
export type Message = Ends & { [Type in MessageType]: Only<Type> }[MessageType]

const TYPES: readonly MessageType[] = ['text', 'image', 'document', 'video', 'audio']

type MediaType = Exclude<MessageType, 'text'>

interface SendRequest extends Ends {
  readonly message:
    | { readonly type: 'message'; readonly message: string }
    | { readonly type: MediaType; readonly media: MediaFile | AudioFile }
}

/** The body of the request. */
export function toRequest(message: Message): SendRequest {
  const { from, to, text } = message
  const [type, another] = TYPES.filter((each) => message[each] !== undefined)
  // The compiler checks it, but not for callers in JavaScript. A second content would be lost silently.
  if (!type || another) throw new TypeError(`A message has exactly one of ${TYPES.join(', ')}`)
  if (text !== undefined) return { from, to, message: { type: 'message', message: text } }
  const mediaType = type as MediaType
  return { from, to, message: { type: mediaType, media: message[mediaType] as MediaFile | AudioFile } }
}
