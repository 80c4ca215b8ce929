def __make_statistics__():
    import math
    from collections import Counter
    from decimal import Decimal

    # The interpreter has no classes that inherit from exceptions.
    StatisticsError = ValueError

    # Sums are exact ratios of integers, so that only the last division rounds.

    def ratio(x):
        if isinstance(x, bool):
            return int(x), 1
        if isinstance(x, int):
            return x, 1
        if isinstance(x, Decimal):
            return x.as_integer_ratio()
        if isinstance(x, float):
            if not math.isfinite(x):
                raise ValueError('cannot convert ' + repr(x) + ' to integer ratio')
            fraction, exponent = math.frexp(x)
            numerator, exponent = int(fraction * 2 ** 53), exponent - 53
            return (numerator << exponent, 1) if exponent > 0 else (numerator, 1 << -exponent)
        raise TypeError("can't convert type '" + type(x).__name__ + "' to numerator/denominator")

    def add(a, b):
        n, d = a[0] * b[1] + b[0] * a[1], a[1] * b[1]
        g = math.gcd(n, d)
        return n // g, d // g

    def exact_sum(values):
        total = (0, 1)
        for value in values:
            total = add(total, ratio(value))
        return total

    def is_decimal(data):
        return any(isinstance(x, Decimal) for x in data)

    def convert(n, d, data):
        if is_decimal(data):
            return Decimal(n) / Decimal(d)
        if n % d == 0 and all(isinstance(x, int) for x in data):
            return n // d
        return n / d

    def root(n, d, data):
        if is_decimal(data):
            return (Decimal(n) / Decimal(d)).sqrt()
        # Scaled to more bits than a float has; the last bit is set when the root is not exact, so that rounding is right.
        shift = max(0, 130 - len(bin(n)) + len(bin(d)))
        shift += shift % 2
        scaled = (n << shift) // d
        whole = math.isqrt(scaled)
        if whole * whole != scaled or scaled * d != n << shift:
            whole |= 1
        return whole / (1 << (shift // 2))

    def listed(data, least, name):
        data = list(data)
        if len(data) < least:
            if least == 1:
                raise StatisticsError(name + ' requires at least one data point')
            raise StatisticsError(name + ' requires at least two data points')
        return data

    def mean(data):
        data = listed(data, 1, 'mean')
        n, d = exact_sum(data)
        return convert(n, d * len(data), data)

    def fmean(data, weights=None):
        data = [float(x) for x in data]
        if not data:
            raise StatisticsError('fmean requires at least one data point')
        if weights is None:
            return math.fsum(data) / len(data)
        weights = [float(x) for x in weights]
        if len(weights) != len(data):
            raise StatisticsError('data and weights must be the same length')
        total = math.fsum(weights)
        if not total:
            raise StatisticsError('sum of weights must be non-zero')
        return math.fsum([x * w for x, w in zip(data, weights)]) / total

    def geometric_mean(data):
        data = [float(x) for x in data]
        if not data:
            raise StatisticsError('Must have a non-empty dataset')
        if any(x < 0 for x in data):
            raise StatisticsError('No negative inputs allowed')
        if any(x == 0 for x in data):
            return 0.0
        return math.exp(math.fsum([math.log(x) for x in data]) / len(data))

    def harmonic_mean(data, weights=None):
        data = list(data)
        if not data:
            raise StatisticsError('harmonic_mean requires at least one data point')
        weights = [1] * len(data) if weights is None else list(weights)
        if len(weights) != len(data):
            raise StatisticsError('Number of weights does not match data size')
        total, inverse = (0, 1), (0, 1)
        for x, w in zip(data, weights):
            if x < 0:
                raise StatisticsError('harmonic mean does not support negative values')
            if x == 0:
                return 0
            (xn, xd), (wn, wd) = ratio(x), ratio(w)
            total = add(total, (wn, wd))
            inverse = add(inverse, (wn * xd, wd * xn))
        if inverse[0] <= 0:
            raise StatisticsError('Weighted sum must be positive')
        n, d = total[0] * inverse[1], total[1] * inverse[0]
        return convert(n, d, data) if is_decimal(data) else n / d

    def ordered(data):
        data = sorted(data)
        if not data:
            raise StatisticsError('no median for empty data')
        return data

    def median(data):
        data = ordered(data)
        middle = len(data) // 2
        if len(data) % 2:
            return data[middle]
        return (data[middle - 1] + data[middle]) / 2

    def median_low(data):
        data = ordered(data)
        return data[(len(data) - 1) // 2]

    def median_high(data):
        data = ordered(data)
        return data[len(data) // 2]

    def mode(data):
        data = list(data)
        if not data:
            raise StatisticsError('no mode for empty data')
        return Counter(data).most_common(1)[0][0]

    def multimode(data):
        counts = Counter(list(data))
        most = max(counts.values(), default=0)
        return [value for value, count in counts.items() if count == most]

    def squares(data, center):
        n, d = exact_sum(data)
        d *= len(data)
        if center is not None:
            n, d = ratio(center)
        total = (0, 1)
        for value in data:
            vn, vd = ratio(value)
            difference, denominator = vn * d - n * vd, vd * d
            total = add(total, (difference * difference, denominator * denominator))
        return total

    def variance(data, xbar=None):
        data = listed(data, 2, 'variance')
        n, d = squares(data, xbar)
        return convert(n, d * (len(data) - 1), data)

    def pvariance(data, mu=None):
        data = listed(data, 1, 'pvariance')
        n, d = squares(data, mu)
        return convert(n, d * len(data), data)

    def stdev(data, xbar=None):
        data = listed(data, 2, 'stdev')
        n, d = squares(data, xbar)
        return root(n, d * (len(data) - 1), data)

    def pstdev(data, mu=None):
        data = listed(data, 1, 'pstdev')
        n, d = squares(data, mu)
        return root(n, d * len(data), data)

    def quantiles(data, *, n=4, method='exclusive'):
        if n < 1:
            raise StatisticsError('n must be at least 1')
        data = sorted(data)
        size = len(data)
        if size < 2:
            if size == 1:
                return data * (n - 1)
            raise StatisticsError('must have at least one data point')
        result = []
        if method == 'inclusive':
            for i in range(1, n):
                j, delta = divmod(i * (size - 1), n)
                result.append((data[j] * (n - delta) + data[j + 1] * delta) / n)
            return result
        if method != 'exclusive':
            raise ValueError('Unknown method: ' + repr(method))
        for i in range(1, n):
            j = max(1, min(size - 1, i * (size + 1) // n))
            delta = i * (size + 1) - j * n
            result.append((data[j - 1] * (n - delta) + data[j] * delta) / n)
        return result

    def paired(x, y, name):
        x, y = [float(a) for a in x], [float(b) for b in y]
        if len(x) != len(y):
            raise StatisticsError(name + ' requires that both inputs have same number of data points')
        if len(x) < 2:
            raise StatisticsError(name + ' requires at least two data points')
        x_mean, y_mean = math.fsum(x) / len(x), math.fsum(y) / len(y)
        return [a - x_mean for a in x], [b - y_mean for b in y], x_mean, y_mean

    def products(a, b):
        return math.fsum([x * y for x, y in zip(a, b)])

    def covariance(x, y):
        dx, dy, _, _ = paired(x, y, 'covariance')
        return products(dx, dy) / (len(dx) - 1)

    def correlation(x, y):
        dx, dy, _, _ = paired(x, y, 'correlation')
        denominator = math.sqrt(products(dx, dx) * products(dy, dy))
        if not denominator:
            raise StatisticsError('at least one of the inputs is constant')
        return products(dx, dy) / denominator

    class LinearRegression:
        def __init__(self, slope, intercept):
            self.slope = slope
            self.intercept = intercept

        def __iter__(self):
            return iter((self.slope, self.intercept))

        def __repr__(self):
            return 'LinearRegression(slope=' + repr(self.slope) + ', intercept=' + repr(self.intercept) + ')'

    def linear_regression(x, y):
        dx, dy, x_mean, y_mean = paired(x, y, 'linear regression')
        denominator = products(dx, dx)
        if not denominator:
            raise StatisticsError('x is constant')
        slope = products(dx, dy) / denominator
        return LinearRegression(slope, y_mean - slope * x_mean)

    class Module:
        pass

    module = Module()
    module.StatisticsError = StatisticsError
    module.mean = mean
    module.fmean = fmean
    module.geometric_mean = geometric_mean
    module.harmonic_mean = harmonic_mean
    module.median = median
    module.median_low = median_low
    module.median_high = median_high
    module.mode = mode
    module.multimode = multimode
    module.variance = variance
    module.pvariance = pvariance
    module.stdev = stdev
    module.pstdev = pstdev
    module.quantiles = quantiles
    module.covariance = covariance
    module.correlation = correlation
    module.linear_regression = linear_regression
    return module


__statistics__ = __make_statistics__()
