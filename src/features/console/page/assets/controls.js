// @ts-check
// Copies commands at a tap, and remembers for the tab whether only problems are shown.

export const startControls = () => {
  document.addEventListener('click', ({ target }) => {
    const command = target instanceof Element ? target.closest('.command') : null
    if (command !== null) void copy(command)
  })

  const problemsOnly = document.getElementById('problems-only')
  if (!(problemsOnly instanceof HTMLInputElement)) return
  problemsOnly.checked = sessionStorage.getItem(problemsOnly.id) === 'on'
  problemsOnly.addEventListener('change', () => {
    sessionStorage.setItem(problemsOnly.id, problemsOnly.checked ? 'on' : 'off')
  })
}

const shownMs = 2000

/** @param {Element} command */
const copy = async (command) => {
  const code = command.querySelector('code')
  if (code === null) return
  const text = code.textContent ?? ''
  // Browsers have no clipboard for http from another machine: the selection is copied.
  const isCopied = await (navigator.clipboard?.writeText(text) ?? Promise.reject()).then(
    () => true,
    () => copySelection(code),
  )
  const [words] = command.querySelector('.copy')?.childNodes ?? []
  if (!(words instanceof Text)) return
  words.data = isCopied ? 'Copied' : 'Selected'
  setTimeout(() => {
    words.data = 'Copy'
  }, shownMs)
}

/** @param {Element} element */
const copySelection = (element) => {
  getSelection()?.selectAllChildren(element)
  return document.execCommand('copy')
}
