import { Command } from 'commander'

/** A command that carries its examples, so that its help and docs/cli.md show the same ones. */
export class NuncioCommand extends Command {
  readonly examples: string[] = []

  override createCommand(name?: string): NuncioCommand {
    return new NuncioCommand(name)
  }

  /** Adds a command that only contains others. */
  group(name: string, description: string): NuncioCommand {
    return this.command(name).description(description).helpCommand(false)
  }

  withExamples(...examples: readonly string[]): this {
    this.examples.push(...examples)
    return this.addHelpText(
      'after',
      () => `\nExamples:\n${this.examples.map((example) => `  $ ${example}`).join('\n')}`,
    )
  }

  withJson(what: string): this {
    return this.option('--json', `print ${what} as JSON`)
  }

  withAccount(purpose: string): this {
    return this.option('--account <name or id>', purpose)
  }
}

/** Options that most commands have. */
export interface CommonOptions {
  readonly json?: boolean
  readonly account?: string
}
