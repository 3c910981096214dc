<?php
// Answers a GET with so many bytes, and a POST with what arrived: `php -S 127.0.0.1:PORT echo.php`.
$target = $_SERVER['REQUEST_URI'];
header('Content-Type: text/plain');
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $body = file_get_contents('php://input');
    $said = implode(' ', ['POST', $target, strlen($body), hash('sha256', $body), $_SERVER['HTTP_X_PROBE']]);
    header('Content-Length: ' . strlen($said));
    echo $said;
    return true;
}
$bytes = (int) ($_GET['bytes'] ?? 0);
$pattern = '';
for ($block = 0; $block * 256 < $bytes; $block++) {
    for ($i = 0; $i < 256; $i++) {
        $pattern .= chr(($i * 31 + $block) & 255);
    }
}
if (!isset($_GET['plain'])) {
    header("Content-Length: $bytes");
}
echo substr($pattern, 0, $bytes);
return true;
