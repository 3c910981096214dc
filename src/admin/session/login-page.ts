import { type Html, html } from '../page/html.ts'
import { layout } from '../page/layout.ts'
import { sentence } from '../page/refusal.ts'
import { formTokenField } from './forms.ts'
import type { Visitor } from './visitor.ts'

/** Shows the form that one logs in by, and why the last try was none. */
export const loginPage = (visitor: Visitor, reason: string | null): Html =>
  layout({
    title: 'Log in',
    body: html`<h1>Log in</h1>
${reason === null ? null : html`<p role="alert">${sentence(reason)}</p>\n`}<form method="post" action="/login">
${formTokenField(visitor)}
<p><label for="token">Token of the operators (<code>admin.token</code>)</label>
<input type="password" id="token" name="token" autocomplete="current-password" required autofocus></p>
<p><button type="submit">Log in</button></p>
</form>
<p>A session lasts 30 minutes. Scripts send the token as <code>Authorization: Bearer</code> instead.</p>`,
  })

/** Says why nobody can log in here, and what to do. */
export const noLoginPage = (): Html =>
  layout({
    title: 'No login here',
    body: html`<h1>No login here</h1>
<p>This listener can be reached from other machines and speaks plain HTTP. Whoever is on the way could read the token that you type, or the
session that you get for it, so neither is taken from a browser.</p>
<p>One of these helps:</p>
<ul>
<li>Set <code>admin.tls</code>, and come back by <code>https://</code>.</li>
<li>Have it listen on this machine only, <code>admin.host: 127.0.0.1</code>, and come by a tunnel: <code>ssh -L 9901:127.0.0.1:9901 HOST</code>, or
<code>kubectl port-forward POD 9901</code>.</li>
</ul>
<p>Both need a restart of the gateway. Until then the commands of the gateway show the same: <code>lender-gateway status</code>.</p>`,
  })
