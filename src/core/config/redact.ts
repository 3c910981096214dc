// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
export class Secret {
  // Private, so that no inspection prints it either.
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** Returns the value itself, for hashing. */
  reveal(): string {
    return this.#value
  }

  /** Returns the mask. JSON.stringify calls this. */
  toJSON(): string {
    return '***'
  }
}

/** A part of a configuration in the spelling of the file. As JSON it shows no secret. */
export type RenderedValue =
  | string
  | number
  | boolean
  | Secret
  | readonly RenderedValue[]
  | { readonly [key: string]: RenderedValue }

/** Escapes each `${` of a literal value as the file does: `$${`. */
export const escapePlaceholders = (value: string): string => value.replaceAll('${', () => '$${')
