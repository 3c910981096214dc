/** Cuts a PEM text into its blocks, each from its BEGIN on. */
export const pemBlocks = (text: string): readonly string[] =>
  text.split(/(?=-----BEGIN )/).filter((block) => block.startsWith('-----BEGIN '))
