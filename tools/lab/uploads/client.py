# Uploads FILE to URLs with one of Python's clients: client.py LIBRARY FILE COUNT AT_ONCE URL... Prints a line for each: a status, or what failed.
import concurrent.futures, ssl, sys, warnings

library, path, count, at_once, *urls = sys.argv[1:]
body = open(path, "rb").read()
warnings.simplefilter("ignore")
context = ssl._create_unverified_context()


def urllib_(url):
    import urllib.error, urllib.request
    try:
        return urllib.request.urlopen(urllib.request.Request(url, data=body), context=context).status
    except urllib.error.HTTPError as error:
        return error.code


def urllib3_(url):
    import urllib3
    pool = urllib3.PoolManager(cert_reqs="CERT_NONE", retries=False)
    return pool.request("POST", url, body=body).status


def requests_(url):
    import requests
    return requests.post(url, data=body, verify=False).status_code


def httpx_(url, http2=False):
    import httpx
    with httpx.Client(verify=False, http2=http2, timeout=60) as client:
        return client.post(url, content=body).status_code


upload = {
    "urllib": urllib_,
    "urllib3": urllib3_,
    "requests": requests_,
    "httpx": httpx_,
    "httpx-h2": lambda url: httpx_(url, True),
}[library]


def line(n):
    try:
        return str(upload(urls[n % len(urls)]))
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("\n", " ")


with concurrent.futures.ThreadPoolExecutor(int(at_once)) as pool:
    for each in pool.map(line, range(int(count))):
        print(each, flush=True)
