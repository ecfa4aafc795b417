hosts before=dns,resolve vmmnet [!UNAVAIL=return]
