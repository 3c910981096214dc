// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
/** Stands for a value that must not be shown. */
export class Secret {
  // Private, so that no inspection prints it either.
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Gives the value itself, for hashing. */
  reveal(): string {
    return this.#value
  }

  /** Writes what may be shown: JSON.stringify calls it. */
  toJSON(): string {
    return '***'
  }
}

/** Is a part of a configuration in the spelling of the file; written as JSON, no secret shows. */
export type RenderedValue =
  | string
  | number
  | boolean
  | Secret
  | readonly RenderedValue[]
  | { readonly [key: string]: RenderedValue }

/** Writes a `${` that the file means as it stands. */
export const escapePlaceholders = (value: string): string => value.replaceAll('${', () => '$${')

/** Writes fields with their values, as far as those may be shown. */
export const values = (
  set: readonly { readonly name: string; readonly value: string; readonly secret: boolean }[],
): { readonly [name: string]: RenderedValue } =>
  Object.fromEntries(
    set.map(({ name, value, secret }) => [name, secret ? new Secret(value) : escapePlaceholders(value)]),
  )
