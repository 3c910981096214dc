import ajvFormats from 'ajv-formats/dist/formats.js'

/** A format as Ajv takes it. */
type Format = (typeof ajvFormats.fullFormats)[keyof typeof ajvFormats.fullFormats]

const { regex: _regex, url: _url, ...linear } = ajvFormats.fullFormats

/**
 * The formats that are checked, by name: those of ajv-formats without `url`, which takes quadratic time, and `regex`,
 * which compiles what a client wrote.
 */
export const formats: Readonly<Record<string, Format>> = linear
