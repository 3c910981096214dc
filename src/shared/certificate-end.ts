/** How long before its end a certificate is told of, in ms: who renews by machine does so earlier, who does it by hand has two weeks. */
export const soonMs = 14 * 24 * 3_600_000
