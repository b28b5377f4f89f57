import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { Refusal } from '../core/refusals.ts'

interface Terminal {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
}

/** Asks the person at the terminal. The answer to a hidden question is not shown. */
export function promptOnTerminal(
  { input, output }: Terminal,
  { question, isHidden }: { readonly question: string; readonly isHidden: boolean },
): Promise<string> {
  return new Promise((resolve, reject) => {
    output.write(question)
    const lines = createInterface({
      input,
      output: isHidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : output,
      // Only then is each key read by us and not shown by the terminal itself.
      terminal: true,
      historySize: 0,
    })
    const stop = () => {
      // The line of a hidden question did not end on the screen.
      if (isHidden) output.write('\n')
      lines.close()
    }
    lines.once('line', (line) => {
      resolve(line)
      stop()
    })
    lines.once('SIGINT', () => lines.close())
    // After a line this rejects nothing any more. Without one, the person has left.
    lines.once('close', () => {
      reject(new Refusal('argument_invalid', 'Nothing was entered, so nothing was changed.'))
    })
  })
}
